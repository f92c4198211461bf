package redis

// script is a Lua script that the server has seen.
type script struct{}

// running is a script while it runs.
type running struct{}

// vm runs scripts.
type vm struct{}
