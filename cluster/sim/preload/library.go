package preload

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// compileLimit bounds the compiler.
const compileLimit = time.Minute

var building sync.Mutex

// Library is the path of the compiled library, in the user's cache folder. The
// first call compiles it.
func Library(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("a place for the library: %w", err)
	}
	return libraryIn(ctx, filepath.Join(cache, "lockcheck"))
}

func libraryIn(ctx context.Context, folder string) (string, error) {
	building.Lock()
	defer building.Unlock()
	compiler, err := findCompiler()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(source + "\x00" + compiler))
	path := filepath.Join(folder, "hold-"+hex.EncodeToString(sum[:8])+".so")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, compile(ctx, compiler, path)
}

// findCompiler takes $CC, or else the first that is there.
func findCompiler() (string, error) {
	names := []string{"cc", "gcc", "clang"}
	if own := os.Getenv("CC"); own != "" {
		names = []string{own}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: looked for %s", ErrNoCompiler, strings.Join(names, ", "))
}

// compile writes the library beside its place and moves it there: two that
// compile at once do not disturb each other.
func compile(ctx context.Context, compiler, path string) error {
	ctx, cancel := context.WithTimeout(ctx, compileLimit)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(path), "compile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	c, so := filepath.Join(work, "preload.c"), filepath.Join(work, "preload.so")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, compiler, "-shared", "-fPIC", "-O2", "-fvisibility=hidden", "-o", so, c, "-ldl", "-lpthread")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", compiler, err, out)
	}
	return os.Rename(so, path)
}

// Check says why a program cannot be held, as far as its file tells; nil if
// nothing speaks against it. What it tells only while it runs, Step reports.
func Check(program string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	file, err := elf.Open(path)
	if errors.As(err, new(*elf.FormatError)) {
		return nil // a script: its interpreter is asked when it runs
	}
	if err != nil {
		return err
	}
	defer file.Close()
	libraries, _ := file.ImportedLibraries()
	_, notGo := buildinfo.ReadFile(path)
	java := slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(l, "libjli.") })
	switch {
	case notGo == nil:
		return fmt.Errorf("%s %w: a Go program asks the kernel by itself", program, ErrCannotHold)
	case java:
		return fmt.Errorf("%s %w: the threads of a JVM share its connections", program, ErrCannotHold)
	case !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }):
		return fmt.Errorf("%s %w: it is linked statically, so nothing can be loaded into it", program, ErrCannotHold)
	}
	return nil
}
