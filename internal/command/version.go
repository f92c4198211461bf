package command

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the version of lockcheck as the module system knows it; a build
// from a checkout adds the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v += "-" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}

func runVersion(_ context.Context, a *app, args []string) (int, error) {
	f := a.flags("version")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	fmt.Fprintf(a.stdout, "lockcheck %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitValid, nil
}
