package command

import (
	"regexp"

	"github.com/spf13/pflag"
)

// unheeded are flags of run that another verb does not look at, and why. Such a
// verb hides them from its help and refuses them: a flag that passes in silence
// makes its user believe that it changed something.
type unheeded map[string]string

// hide takes the flags out of the help.
func (u unheeded) hide(s *pflag.FlagSet) {
	for name := range u {
		s.Lookup(name).Hidden = true
	}
}

// refuse answers the mistake of giving one of the flags.
func (u unheeded) refuse(s *pflag.FlagSet) (err error) {
	s.Visit(func(flag *pflag.Flag) {
		if why, ok := u[flag.Name]; ok && err == nil {
			err = hint(usagef("--%s: %s", flag.Name, why), "lockcheck help %s lists its flags", s.Name())
		}
	})
	return err
}

// ownDefault is what a usage text says of the default.
var ownDefault = regexp.MustCompile(` \(default .*\)$`)

// setDefaults gives flags another default than run has, in the help too.
func setDefaults(s *pflag.FlagSet, values map[string]string) error {
	for name, value := range values {
		flag := s.Lookup(name)
		if err := flag.Value.Set(value); err != nil {
			return err
		}
		flag.DefValue = value
		flag.Usage = ownDefault.ReplaceAllString(flag.Usage, "")
	}
	return nil
}
