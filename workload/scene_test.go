package workload

import (
	"strings"
	"testing"
	"time"
)

func TestTheContendedSceneGoesBeforeTheDesignsSettingsAndAfterTheUsers(t *testing.T) {
	s, err := Spec{Design: "user-sku-lock", Scene: Contended, Workers: 7}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	if s.SKUs != contended.SKUs || s.Workers != 7 || s.TTL != stockService.TTL || s.Interval() != 5*time.Second {
		t.Errorf("%d SKUs, %d workers, ttl %v, interval %v", s.SKUs, s.Workers, s.TTL, s.Interval())
	}
	if got := s.Header().Settings["scene"]; got != Contended {
		t.Errorf("the header names the scene %q", got)
	}
	if s, _ := (Spec{Design: "redis-lock"}).Resolved(); s.Scene != Standard || s.Interval() != 0 {
		t.Errorf("the default scene is %q, its interval %v", s.Scene, s.Interval())
	}
	if _, err := (Spec{Design: "redis-lock", Scene: "crowded"}).Resolved(); err == nil || !strings.Contains(err.Error(), "--scene") {
		t.Errorf("an unknown scene: error %v", err)
	}
}
