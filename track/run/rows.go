package main

// row is a version of a library, used in one way, under one fault: what is
// expected of it, and the test that plays it.
type row struct {
	library, version string
	use              string // how it is used, "" as its documentation begins
	fault            string
	property         string // that the finding is about
	red              bool   // the property is expected to break
	report           string // the public report, "" if there is none

	dir, modfile, tags, test string // of a test with locktest
}

// rows is the table. A red row has a green one beside it: a later version, or the
// same without the option.
var rows = []row{
	{
		library: "redsync", version: "4.12.1", use: "WithSetNXOnExtend", fault: "pause", property: "lease-gap", red: true,
		report: "go-redsync/redsync pull requests 147 and 149",
		dir:    "track/redsync", modfile: "go-4.12.1.mod", test: "TestSetNXOnExtend",
	},
	{
		library: "redsync", version: "4.18.1", use: "WithSetNXOnExtend", fault: "pause", property: "lease-gap", red: true,
		report: "go-redsync/redsync pull requests 147 and 149",
		dir:    "track/redsync", modfile: "go.mod", test: "TestSetNXOnExtend",
	},
	{
		library: "redsync", version: "4.18.1", fault: "pause", property: "lease-gap",
		dir: "track/redsync", modfile: "go.mod", test: "TestMutex",
	},
	{
		library: "bsm/redis-lock", version: "8.0.0", use: "renewed by Lock", fault: "pause", property: "lease-gap", red: true,
		dir: "track/redis-lock", modfile: "go.mod", test: "TestLockAgain",
	},
	{
		library: "bsm/redislock", version: "0.9.4", use: "renewed by Refresh", fault: "pause", property: "lease-gap",
		dir: "track/redislock", modfile: "go-0.9.4.mod", test: "TestRefresh",
	},
	{
		library: "bsm/redislock", version: "0.9.4", use: "own tokens", fault: "none", property: "double-hold", red: true,
		dir: "track/redislock", modfile: "go-0.9.4.mod", tags: "own", test: "TestOwnTokens",
	},
	{
		library: "bsm/redislock", version: "0.10.0", use: "own tokens", fault: "none", property: "double-hold", red: true,
		dir: "track/redislock", modfile: "go.mod", tags: "own", test: "TestOwnTokens",
	},
	{
		library: "bsm/redislock", version: "0.10.0", use: "random tokens", fault: "none", property: "double-hold",
		dir: "track/redislock", modfile: "go.mod", test: "TestRandomTokens",
	},
	{
		library: "bsm/redislock", version: "0.9.0", use: "random tokens", fault: "none", property: "double-hold",
		dir: "track/redislock", modfile: "go-0.9.0.mod", test: "TestRandomTokens",
	},
}
