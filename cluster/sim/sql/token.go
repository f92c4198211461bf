package sql

import (
	"strconv"
	"strings"
)

// token is one word of a statement.
type token struct {
	kind  tokenKind
	text  string // of a word in upper case; of quoted things what is inside
	raw   string // of a word as written
	value any    // of a literal
	at    int
}

type tokenKind uint8

const (
	endToken     tokenKind = iota
	wordToken              // a keyword or a name
	nameToken              // a name in backquotes
	literalToken           // a number or a string
	paramToken             // ?
	signToken              // an operator or punctuation
)

var twoBytes = map[string]bool{"<=": true, ">=": true, "<>": true, "!=": true, "||": true, "&&": true}

// tokens splits a statement.
func tokens(query string) ([]token, error) {
	var out []token
	for at := 0; ; {
		for at < len(query) && strings.ContainsRune(" \t\r\n", rune(query[at])) {
			at++
		}
		if at == len(query) {
			return append(out, token{kind: endToken, at: at}), nil
		}
		t, n, err := next(query[at:])
		if err != nil {
			return nil, err
		}
		t.at = at
		out = append(out, t)
		at += n
	}
}

// next reads the token that rest begins with, and answers its length.
func next(rest string) (token, int, error) {
	switch c := rest[0]; {
	case c == '\'' || c == '"':
		return quoted(rest)
	case c == '`':
		if end := strings.IndexByte(rest[1:], '`'); end >= 0 {
			name := rest[1 : end+1]
			return token{kind: nameToken, text: name, raw: name}, end + 2, nil
		}
		return token{}, 0, syntaxNear(rest)
	case c == '?':
		return token{kind: paramToken, text: "?"}, 1, nil
	case '0' <= c && c <= '9':
		return number(rest)
	case letter(c):
		n := 1
		for n < len(rest) && (letter(rest[n]) || '0' <= rest[n] && rest[n] <= '9') {
			n++
		}
		return token{kind: wordToken, text: strings.ToUpper(rest[:n]), raw: rest[:n]}, n, nil
	case strings.HasPrefix(rest, "<=>"):
		return token{kind: signToken, text: "<=>"}, 3, nil
	case len(rest) > 1 && twoBytes[rest[:2]]:
		return token{kind: signToken, text: rest[:2]}, 2, nil
	case strings.IndexByte("()*+-,=<>;.@", c) >= 0:
		return token{kind: signToken, text: rest[:1]}, 1, nil
	}
	return token{}, 0, syntaxNear(rest)
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}

func number(rest string) (token, int, error) {
	n := 1
	for n < len(rest) && (rest[n] == '.' || '0' <= rest[n] && rest[n] <= '9') {
		n++
	}
	t := token{kind: literalToken, text: rest[:n]}
	if i, err := strconv.ParseInt(rest[:n], 10, 64); err == nil {
		t.value = i
	} else if f, err := strconv.ParseFloat(rest[:n], 64); err == nil {
		t.value = f
	} else {
		return t, 0, syntaxNear(rest)
	}
	return t, n, nil
}

// escapes are the characters that a backslash changes.
var escapes = map[byte]byte{'0': 0, 'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'Z': 26}

func quoted(rest string) (token, int, error) {
	quote := rest[0]
	var text []byte
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\\' && i+1 < len(rest):
			i++
			if e, ok := escapes[rest[i]]; ok {
				text = append(text, e)
			} else {
				text = append(text, rest[i])
			}
		case c == quote && i+1 < len(rest) && rest[i+1] == quote:
			i++
			text = append(text, quote)
		case c == quote:
			return token{kind: literalToken, text: string(text), value: string(text)}, i + 1, nil
		default:
			text = append(text, c)
		}
	}
	return token{}, 0, syntaxNear(rest)
}

func syntaxNear(rest string) *Error {
	if len(rest) > 80 {
		rest = rest[:80]
	}
	return errorf(SyntaxError, "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version for the right syntax to use near '%s' at line 1", rest)
}
