// Package kubernetes reads deploy/kubernetes/search.yaml, a search as an Indexed Job. It is a module of
// its own, so that the API's types are no dependency of lockcheck.
package kubernetes

import (
	"os"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// job reads the manifest with the API's own types; a field that they do not have is an
// error.
func job(t *testing.T, text []byte) (batch.Job, error) {
	t.Helper()
	var j batch.Job
	return j, yaml.UnmarshalStrict(text, &j)
}

func manifest(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../../deploy/kubernetes/search.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheManifestIsAnIndexedJobWhoseShardsAreItsPods(t *testing.T) {
	j, err := job(t, manifest(t))
	if err != nil {
		t.Fatal(err)
	}
	if j.APIVersion != "batch/v1" || j.Kind != "Job" || j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batch.IndexedCompletion {
		t.Errorf("%s %s is no Indexed Job", j.APIVersion, j.Kind)
	}
	if j.Spec.Completions == nil || *j.Spec.Completions != 256 || j.Spec.BackoffLimitPerIndex == nil {
		t.Error("want 256 completions, with a limit of retries for each")
	}
	pod := j.Spec.Template.Spec
	if pod.RestartPolicy != core.RestartPolicyNever || len(pod.Containers) != 1 {
		t.Fatalf("pods restart %s and have %d containers", pod.RestartPolicy, len(pod.Containers))
	}
	c := pod.Containers[0]
	if script := strings.Join(c.Args, " "); !strings.Contains(script, "--shard=$((JOB_COMPLETION_INDEX + 1))/256") || !strings.Contains(script, "--seed=") {
		t.Errorf("shards of one search have one seed and the pod's number: %s", script)
	}
	if len(c.VolumeMounts) != 1 || len(pod.Volumes) != 1 || c.VolumeMounts[0].Name != pod.Volumes[0].Name {
		t.Error("the container does not mount the volume")
	}
}

func TestAFieldThatTheAPIDoesNotHaveIsNoticed(t *testing.T) {
	wrong := strings.Replace(string(manifest(t)), "completionMode", "completionsMode", 1)
	if _, err := job(t, []byte(wrong)); err == nil {
		t.Error("completionsMode was read")
	}
}
