//go:build unix

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// subnet is the private network of a Provider. Addresses are fixed: they are
// what Sentinel announces, what cuts are made of, and what a restarted node
// must come back under.
type subnet struct {
	name string
	next netip.Addr
}

// firstHost leaves the low addresses to the gateway and what the engine may
// hand out itself.
const firstHost = 10

// newNetwork lets the engine choose a free range, which avoids every other
// network of this host, and makes a network that has the range as its own:
// only such a network allows fixed addresses.
func (e *engine) newNetwork(ctx context.Context, run string) (*subnet, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	name := "lockcheck-" + run
	labels := map[string]string{ownLabel: "1", runLabel: run, ownerLabel: owner(), hostLabel: machine()}
	var errs []error
	for range 3 { // another may take the range in between
		prefix, err := e.freeRange(ctx, name+"-probe", labels)
		if err != nil {
			return nil, fmt.Errorf("private network: %w", err)
		}
		_, err = e.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{
			Driver: "bridge", Labels: labels,
			IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: prefix}}},
		})
		if err == nil {
			return newSubnet(name, prefix), nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("private network: %w", errors.Join(errs...))
}

func newSubnet(name string, prefix netip.Prefix) *subnet {
	addr := prefix.Masked().Addr()
	for range firstHost {
		addr = addr.Next()
	}
	return &subnet{name: name, next: addr}
}

// take hands out the next address.
func (s *subnet) take() netip.Addr {
	a := s.next
	s.next = a.Next()
	return a
}

func (e *engine) freeRange(ctx context.Context, name string, labels map[string]string) (netip.Prefix, error) {
	made, err := e.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{Driver: "bridge", Labels: labels})
	if err != nil {
		return netip.Prefix{}, err
	}
	seen, err := e.api.NetworkInspect(ctx, made.ID, client.NetworkInspectOptions{})
	_, rmErr := e.api.NetworkRemove(ctx, made.ID, client.NetworkRemoveOptions{})
	if err := errors.Join(err, rmErr); err != nil {
		return netip.Prefix{}, err
	}
	for _, c := range seen.Network.IPAM.Config {
		if c.Subnet.Addr().Is4() {
			return c.Subnet, nil
		}
	}
	return netip.Prefix{}, errors.New("the engine gave it no IPv4 range")
}
