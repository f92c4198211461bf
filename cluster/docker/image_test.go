//go:build unix

package docker

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// imageStore is an engine that has images, and builds and pulls what it has not.
type imageStore struct {
	client.APIClient
	has   []string
	talks string // what a build says
}

func (s *imageStore) ImageInspect(ctx context.Context, tag string, _ ...client.ImageInspectOption) (client.ImageInspectResult, error) {
	if _, limited := ctx.Deadline(); !limited {
		return client.ImageInspectResult{}, context.DeadlineExceeded
	}
	var seen client.ImageInspectResult
	if !slices.Contains(s.has, tag) {
		return seen, errdefs.ErrNotFound
	}
	seen.ID = "sha256:" + tag
	return seen, nil
}

func (s *imageStore) ImageBuild(_ context.Context, _ io.Reader, o client.ImageBuildOptions) (client.ImageBuildResult, error) {
	s.has = append(s.has, o.Tags...)
	return client.ImageBuildResult{Body: io.NopCloser(strings.NewReader(s.talks))}, nil
}

// A build takes minutes and says so before it begins; an image that is here does not.
func TestAnImageIsBuiltOnceAndTold(t *testing.T) {
	var told []string
	tell := func(text string) { told = append(told, text) }
	e := &engine{api: &imageStore{has: []string{"debian"}}}
	for range 2 {
		tag, err := e.image(t.Context(), sqlImage, "debian", tell)
		if err != nil || !strings.HasPrefix(tag, "lockcheck/mariadb:") {
			t.Fatalf("image %q, error %v", tag, err)
		}
		if len(told) != 1 || !strings.Contains(told[0], "building "+tag) {
			t.Fatalf("told %q, want the building of %s once", told, tag)
		}
	}
	e.api = &imageStore{has: []string{"debian"}, talks: `{"stream":"Step 1"}` + "\n" + `{"error":"no mirror"}`}
	if _, err := e.image(t.Context(), sqlImage, "debian", tell); err == nil || !strings.Contains(err.Error(), "no mirror (last output: Step 1)") {
		t.Errorf("a build that failed: error %v", err)
	}
}
