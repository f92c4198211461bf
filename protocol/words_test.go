package protocol

import "slices"

// Words are all words of the protocol that its page must explain, as they
// stand there.
func Words() []string {
	var all []string
	add := func(words ...string) {
		for _, w := range words {
			all = append(all, "`"+w+"`")
		}
	}
	add(canWords...)
	add(noteWords...)
	for _, k := range slices.Concat(fatal, []Kind{Prose, Malformed, WrongAnswer, SecondAnswer, LateAnswer, FutureAnswer, BadValidity, OutOfTurn, WouldNotEnd, LeftBehind}) {
		add(string(k))
	}
	for _, message := range []string{Acquire, Extend, Release, Sell} {
		all = append(all, "### "+message)
	}
	return all
}
