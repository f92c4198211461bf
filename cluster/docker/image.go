//go:build unix

package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// images holds one folder per kind of image, its Dockerfile and what that
// copies, and image, which goes into each.
//
//go:embed image image-redis image-sql image-queue
var images embed.FS

// imageKind is a folder of images.
type imageKind string

const (
	redisImage imageKind = "image-redis"
	sqlImage   imageKind = "image-sql"
	queueImage imageKind = "image-queue"
)

var repos = map[imageKind]string{
	redisImage: "lockcheck/redis", sqlImage: "lockcheck/mariadb", queueImage: "lockcheck/rabbitmq",
}

// Limits on images.
const (
	pullLimit  = 5 * time.Minute
	buildLimit = 10 * time.Minute
)

// image answers the tag of our image of that kind, built on the base; it is
// built at most once for the same files and the same base, and tell hears of it.
func (e *engine) image(ctx context.Context, kind imageKind, base string, tell func(string)) (string, error) {
	baseID, err := e.baseID(ctx, base, tell)
	if err != nil {
		return "", err
	}
	files, err := archive(kind)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write(files)
	io.WriteString(sum, baseID)
	tag := repos[kind] + ":" + hex.EncodeToString(sum.Sum(nil))[:12]
	if _, err := e.inspect(ctx, tag); err == nil {
		return tag, nil
	}
	tell(fmt.Sprintf("building %s, once: a minute or two, %v at most", tag, buildLimit))
	return tag, e.build(ctx, files, base, tag)
}

// inspect answers the ID of an image that is here.
func (e *engine) inspect(ctx context.Context, tag string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	seen, err := e.api.ImageInspect(ctx, tag)
	return seen.ID, err
}

// baseID finds the base image here, or pulls it.
func (e *engine) baseID(ctx context.Context, base string, tell func(string)) (string, error) {
	id, err := e.inspect(ctx, base)
	if err == nil || !errdefs.IsNotFound(err) {
		return id, err
	}
	tell(fmt.Sprintf("pulling %s, once: %v at most", base, pullLimit))
	ctx, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	pull, err := e.api.ImagePull(ctx, base, client.ImagePullOptions{})
	if err == nil {
		err = errors.Join(pull.Wait(ctx), pull.Close())
	}
	if err != nil {
		return "", &Error{fmt.Sprintf("image %s is not here and cannot be pulled", base),
			"name one that is here with --image, or make " + DefaultImage + " with .ci/base-image.sh from lockcheck's source", err}
	}
	return e.inspect(ctx, base)
}

// build builds with the host's network: containers may have no DNS where the
// host has.
func (e *engine) build(ctx context.Context, files []byte, base, tag string) error {
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	args := map[string]*string{"BASE": &base}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		if v := os.Getenv(name); v != "" {
			args[name] = &v
		}
	}
	built, err := e.api.ImageBuild(ctx, bytes.NewReader(files), client.ImageBuildOptions{
		Tags: []string{tag}, BuildArgs: args, NetworkMode: "host", Remove: true, ForceRemove: true,
		Labels: map[string]string{ownLabel: "1"},
	})
	if err == nil {
		err = errors.Join(buildResult(built.Body), built.Body.Close())
	}
	if err != nil {
		return &Error{"building " + tag + " on " + base,
			"the base must be based on Debian, and Debian's package mirror must be reachable from this host", err}
	}
	return nil
}

// buildResult reads the engine's talk to its end: an error comes as a line.
func buildResult(r io.Reader) error {
	var tail string
	dec := json.NewDecoder(r)
	for {
		var line struct {
			Stream string `json:"stream"`
			Error  string `json:"error"`
		}
		if err := dec.Decode(&line); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if s := strings.TrimSpace(line.Stream); s != "" {
			tail = s
		}
		if line.Error != "" {
			return fmt.Errorf("%s (last output: %s)", line.Error, tail)
		}
	}
}

// archive packs what an image is built of; the same files give the same bytes.
func archive(kind imageKind) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	errs := []error{pack(w, "image"), pack(w, string(kind)), w.Close()}
	return buf.Bytes(), errors.Join(errs...)
}

func pack(w *tar.Writer, folder string) error {
	entries, err := images.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		content, err := images.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: e.Name(), Mode: 0o755, Size: int64(len(content))}); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return nil
}
