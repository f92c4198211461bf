// Command turnstile is lockcheck with the turnstile among its designs.
package main

import (
	"os"

	"github.com/lockcheck/lockcheck"
	_ "github.com/lockcheck/lockcheck/cluster/servers" // --cluster=docker

	"example.com/turnstile"
)

func main() { os.Exit(lockcheck.Main(turnstile.Design, turnstile.MendedDesign)) }
