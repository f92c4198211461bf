//go:build amd64 || arm64

package preload

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slots is how many connections a program may open in its life.
const slots = 32768

// page is the memory that the library shares with us, as struct page in
// lib/preload.c.
type page struct {
	mono, wall   int64 // in ns
	seed, drawn  uint64
	owner, pid   int32
	slots, local uint32
	hostname     [64]byte
	state        [slots]uint8
}

// The states of a connection.
const (
	connecting uint8 = 1
	connected  uint8 = 2
)

// message is what comes on the control socket, as struct message in lib/preload.c.
type message struct {
	until int64
	slot  uint32
	junk  uint32
	port  uint16
	kind  byte
	drain byte
	text  [108]byte
}

const messageSize = int(unsafe.Sizeof(message{}))

// newPage makes an empty page, and a descriptor that another process can map.
func newPage() (*page, int, error) {
	fd, err := unix.MemfdCreate("lockcheck-page", 0)
	if err != nil {
		return nil, -1, err
	}
	size := int(unsafe.Sizeof(page{}))
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		unix.Close(fd)
		return nil, -1, err
	}
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil, -1, err
	}
	return (*page)(unsafe.Pointer(unsafe.SliceData(memory))), fd, nil
}

func (p *page) unmap() {
	_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p)))
}

// set writes the clocks. The program stands still meanwhile.
func (p *page) set(c Clock) {
	atomic.StoreInt64(&p.mono, int64(c.Mono))
	atomic.StoreInt64(&p.wall, c.Wall.UnixNano())
}

func (m *message) words() string {
	n := 0
	for n < len(m.text) && m.text[n] != 0 {
		n++
	}
	return string(m.text[:n])
}

func (m *message) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m)), messageSize)
}
