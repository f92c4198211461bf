// Package linear decides whether operations on one key fit some legal order:
// acquires and releases of a lock (Lock), and sales, reads and restocks of a stock
// (Stock). Both are exact and take time with n log n; what they do not cover is
// searched for by porcupine (SearchLock, SearchStock), which also decides small keys a
// second time. The arguments are in docs/checking.md.
//
// The package knows operations and specifications, and nothing of properties,
// beliefs or verdicts: those are package checker's.
package linear
