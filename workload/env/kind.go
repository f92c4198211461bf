package env

// Kind is a shape of the lock service.
type Kind string

// The shapes of lock services.
const (
	NoLock       Kind = "" // the design needs none (SQL designs)
	Single       Kind = "single"
	Sentinel     Kind = "sentinel"
	Independent3 Kind = "independent-3"
	Independent5 Kind = "independent-5"
	RedisCluster Kind = "redis-cluster"
)

// Shape is what a lock service consists of.
type Shape struct {
	Redis     int // servers, named redis-1, redis-2, …
	Replicas  int // how many of them, the last ones, begin as replicas
	Sentinels int // named sentinel-1, …
}

// shapes has a row for each kind. Clusters, nemeses and the command line read
// it: whatever they need not know apart from it, they derive.
var shapes = []struct {
	kind Kind
	Shape
}{
	{NoLock, Shape{}},
	{Single, Shape{Redis: 1}},
	{Sentinel, Shape{Redis: 3, Replicas: 2, Sentinels: 3}},
	{Independent3, Shape{Redis: 3}},
	{Independent5, Shape{Redis: 5}},
	{RedisCluster, Shape{Redis: 6, Replicas: 3}},
}

// Shape reports what a lock service of this kind consists of. ok is false if
// there is no such kind.
func (k Kind) Shape() (s Shape, ok bool) {
	for _, row := range shapes {
		if row.kind == k {
			return row.Shape, true
		}
	}
	return Shape{}, false
}

// Replicated reports whether servers of this kind have replicas.
func (k Kind) Replicated() bool { s, _ := k.Shape(); return s.Replicas > 0 }

// Independent reports whether its servers know nothing of each other: a single
// one, too.
func (k Kind) Independent() bool { s, _ := k.Shape(); return s.Redis > 0 && s.Replicas == 0 }

// Kinds are all that have a server, in the order of the table.
func Kinds() (all []Kind) {
	for _, row := range shapes {
		if row.Redis > 0 {
			all = append(all, row.kind)
		}
	}
	return all
}
