package redis

// match reports whether s matches a pattern of the server's: * ? [a-z] [^a]
// and \ for a literal. It goes byte by byte.
func match(pattern, s string) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			return matchStar(pattern[1:], s)
		case '?':
			if s == "" {
				return false
			}
			pattern = pattern[1:]
		case '[':
			if s == "" {
				return false
			}
			in, rest := matchClass(pattern[1:], s[0])
			if !in {
				return false
			}
			pattern = rest
		default:
			if pattern[0] == '\\' && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if s == "" || s[0] != pattern[0] {
				return false
			}
			pattern = pattern[1:]
		}
		s = s[1:]
	}
	return s == ""
}

func matchStar(pattern, s string) bool {
	for i := 0; i <= len(s); i++ {
		if match(pattern, s[i:]) {
			return true
		}
	}
	return false
}

// matchClass matches c with the inside of brackets and answers the pattern
// behind them. A class that is never closed ends with the pattern.
func matchClass(pattern string, c byte) (in bool, rest string) {
	not := pattern != "" && pattern[0] == '^'
	if not {
		pattern = pattern[1:]
	}
	for pattern != "" && pattern[0] != ']' {
		switch {
		case pattern[0] == '\\' && len(pattern) > 1:
			in = in || pattern[1] == c
			pattern = pattern[2:]
		case len(pattern) > 2 && pattern[1] == '-':
			low, high := min(pattern[0], pattern[2]), max(pattern[0], pattern[2])
			in = in || low <= c && c <= high
			pattern = pattern[3:]
		default:
			in = in || pattern[0] == c
			pattern = pattern[1:]
		}
	}
	if pattern != "" {
		pattern = pattern[1:]
	}
	return in != not, pattern
}
