// Package servers gives a program real servers: it is imported for its effect,
// as database drivers are.
//
//	import _ "github.com/lockcheck/lockcheck/cluster/servers"
//
// The program then has --cluster=docker, and with it the container engine's
// client, go-redis and the SQL and AMQP drivers, which are most of what the
// compiler has to do. With -tags sim, and where lockcheck has the simulation only
// (Windows), importing it changes nothing.
package servers
