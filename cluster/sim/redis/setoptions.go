package redis

import "strings"

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, get, keepTTL, persist bool

	expire   string // EX, PX, EXAT or PXAT
	unit     int64
	relative bool
	amount   string
}

// parseSetOptions reads the options of SET, or of GETEX.
func parseSetOptions(args []string, getEx bool) (o setOptions, bad any) {
	for i := 0; i < len(args); i++ {
		option := args[i]
		switch {
		case is(option, "NX") && !o.xx && !getEx:
			o.nx = true
		case is(option, "XX") && !o.nx && !getEx:
			o.xx = true
		case is(option, "GET") && !getEx:
			o.get = true
		case is(option, "KEEPTTL") && o.expire == "" && !getEx:
			o.keepTTL = true
		case is(option, "PERSIST") && o.expire == "" && getEx:
			o.persist = true
		case i+1 < len(args) && !o.keepTTL && !o.persist && o.parseExpire(option):
			i++
			o.amount = args[i]
		default:
			return o, syntaxError
		}
	}
	return o, nil
}

// parseExpire takes one of the options that set an end. The same may come
// again, as on the server; another may not.
func (o *setOptions) parseExpire(option string) bool {
	option = strings.ToUpper(option)
	if o.expire != "" && o.expire != option {
		return false
	}
	switch option {
	case "EX":
		o.unit, o.relative = 1000, true
	case "PX":
		o.unit, o.relative = 1, true
	case "EXAT":
		o.unit = 1000
	case "PXAT":
		o.unit = 1
	default:
		return false
	}
	o.expire = option
	return true
}

// deadline is when the key shall end, or 0.
func (o *setOptions) deadline(name string, now int64) (int64, any) {
	if o.expire == "" {
		return 0, nil
	}
	n, isInt := integer(o.amount)
	if !isInt {
		return 0, notInteger
	}
	if n <= 0 {
		return 0, invalidExpire(name)
	}
	when, fits := deadline(n, o.unit, o.relative, now)
	if !fits {
		return 0, invalidExpire(name)
	}
	return when, nil
}
