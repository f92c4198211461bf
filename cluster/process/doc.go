//go:build unix

// Package process is a worker process of the real cluster from inside: an
// operating-system process that runs one or more workers, by what package docker
// tells it on stdin, and says on stdout what they do.
//
//	wire.go                     what the two say to each other
//	worker.go, clock.go         the process, its workers and their time
//	world.go                    what the workers of a process share
//	redis.go, clusterconn.go,   what a worker has in its Env, over the usual
//	sql.go, queue.go            client libraries
//	errors.go                   what the errors of these mean
//	link.go, greeting.go        their connections, which can be cut without being root
//	replies.go                  replies that get lost, and workers that stand still
//	own.go                      a program of one's own beside a worker
//
// It makes no container and injects no fault into a server: that is package
// docker's. The director's own Env is a World of this package too.
package process
