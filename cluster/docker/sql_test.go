//go:build unix

package docker

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// needImage makes an image beforehand: the one step that takes minutes.
func needImage(t *testing.T, k nodeKind) {
	t.Helper()
	p := needEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), buildLimit)
	defer cancel()
	if _, err := p.image(ctx, k); err != nil {
		t.Fatal(err)
	}
}

// stage is a system without workers, for a director alone.
func stage(t *testing.T, topology env.Topology, director func(context.Context, *scene)) {
	t.Helper()
	p := needEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	rec := &record{}
	c, err := p.Cell(ctx, cluster.Options{Topology: topology, Emit: rec.emit, CallTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal("system:", err)
	}
	err = c.Run(ctx, func(ctx context.Context) error {
		director(ctx, &scene{t, c, rec, c.(*system)})
		return nil
	})
	if err != nil {
		t.Error("run:", err)
	}
}

func TestSQL(t *testing.T) {
	needImage(t, sqlKind)
	stage(t, env.Topology{SQL: true}, func(ctx context.Context, s *scene) {
		db := s.Env().SQL
		must := func(q string, args ...any) int64 {
			t.Helper()
			n, err := db.Exec(ctx, q, args...)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			return n
		}
		must("CREATE TABLE stock (sku VARCHAR(40) PRIMARY KEY, n BIGINT NOT NULL)")
		if n := must("INSERT INTO stock VALUES (?, ?)", "sku-1", 5); n != 1 {
			t.Errorf("%d rows inserted", n)
		}
		if n := must("UPDATE stock SET n = n - ? WHERE sku = ? AND n >= ?", 9, "sku-1", 9); n != 0 {
			t.Errorf("%d rows oversold", n)
		}
		rows, err := db.Query(ctx, "SELECT sku, n, NULL FROM stock")
		if diff := cmp.Diff([][]any{{"sku-1", int64(5), nil}}, rows); diff != "" || err != nil {
			t.Error(diff, err)
		}
		_, err = db.Exec(ctx, "INSERT INTO stock VALUES (?, ?)", "sku-1", 1)
		var refused env.ServerError
		if !errors.As(err, &refused) || refused.Code() != "1062" {
			t.Errorf("a duplicate key is %v, want error 1062", err)
		}
		testTx(ctx, t, db)
		testKilledConnection(ctx, s, db)
		s.must(ctx, histories.Fault{F: histories.Kill, Targets: []string{"sql"}, Mode: "process"})
		if _, err := db.Exec(ctx, "UPDATE stock SET n = 0"); err == nil || env.Unknown(err) && !errors.Is(err, env.ErrReset) {
			t.Errorf("a dead server answers %v", err)
		}
		s.must(ctx, histories.Fault{F: histories.Start, Targets: []string{"sql"}})
		rows, err = db.Query(ctx, "SELECT n FROM stock")
		if diff := cmp.Diff([][]any{{int64(4)}}, rows); diff != "" || err != nil {
			t.Error("what was committed before the kill:", diff, err)
		}
	})
	stage(t, env.Topology{SQL: true}, func(ctx context.Context, s *scene) {
		if rows, err := s.Env().SQL.Query(ctx, "SHOW TABLES"); len(rows) > 0 || err != nil {
			t.Errorf("the next run finds %v, %v", rows, err)
		}
	})
}

// testTx commits one unit and rolls another back.
func testTx(ctx context.Context, t *testing.T, db env.SQL) {
	t.Helper()
	sell := func(end error) error {
		return db.Tx(ctx, func(tx env.Tx) error {
			rows, err := tx.Query(ctx, "SELECT n FROM stock WHERE sku = ? FOR UPDATE", "sku-1")
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "UPDATE stock SET n = ? WHERE sku = ?", rows[0][0].(int64)-1, "sku-1"); err != nil {
				return err
			}
			return end
		})
	}
	if err := sell(nil); err != nil {
		t.Error(err)
	}
	if err := sell(env.ErrBusy); !errors.Is(err, env.ErrBusy) {
		t.Errorf("the function's error is %v", err)
	}
	if rows, err := db.Query(ctx, "SELECT n FROM stock"); err != nil || cmp.Diff([][]any{{int64(4)}}, rows) != "" {
		t.Errorf("one of two sales committed leaves %v, %v", rows, err)
	}
}

// testKilledConnection kills the connection between update and commit: the
// commit is in doubt, and did not happen.
func testKilledConnection(ctx context.Context, s *scene, db env.SQL) {
	s.Helper()
	err := db.Tx(ctx, func(tx env.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE stock SET n = 0"); err != nil {
			return err
		}
		s.must(ctx, histories.Fault{F: histories.Kill, Targets: []string{"sql"}, Mode: "connection"})
		return nil
	})
	if !errors.Is(err, env.ErrDoubt) || !env.Unknown(err) {
		s.Errorf("a commit on a killed connection is %v, want %v", err, env.ErrDoubt)
	}
	if rows, err := db.Query(ctx, "SELECT n FROM stock"); err != nil || cmp.Diff([][]any{{int64(4)}}, rows) != "" {
		s.Errorf("the transaction of a killed connection left %v, %v", rows, err)
	}
}

func TestQueue(t *testing.T) {
	needImage(t, queueKind)
	stage(t, env.Topology{Queue: true}, func(ctx context.Context, s *scene) {
		q := s.Env().Queue
		for _, body := range []string{"one", "two"} {
			if err := q.Publish(ctx, body); err != nil {
				t.Fatal(err)
			}
		}
		body, ack, ok, err := q.Consume(ctx, 5*time.Second)
		if body != "one" || !ok || err != nil {
			t.Fatalf("first delivery is %q, %v, %v", body, ok, err)
		}
		if err := ack(ctx); err != nil {
			t.Error(err)
		}
		for range 2 { // the first time it is not confirmed, and goes back
			body, _, ok, err = q.Consume(ctx, 5*time.Second)
			if body != "two" || !ok || err != nil {
				t.Fatalf("second delivery is %q, %v, %v", body, ok, err)
			}
		}
		// Not acknowledged, and durable: it survives its consumer's
		// connection and the broker's death.
		s.must(ctx, histories.Fault{F: histories.Kill, Targets: []string{"queue"}, Mode: "process"})
		if err := q.Publish(ctx, "three"); err == nil {
			t.Error("a dead broker confirmed")
		}
		s.must(ctx, histories.Fault{F: histories.Start, Targets: []string{"queue"}})
		// The acknowledgement of "one" may have died with the broker: at
		// least once is what is promised.
		err = wait.Until(ctx, 20*time.Second, func(ctx context.Context) error {
			body, ack, ok, err := q.Consume(ctx, time.Second)
			switch {
			case err != nil:
				return err
			case !ok:
				return errors.New("nothing delivered")
			case body != "two":
				return errors.Join(errors.New("delivered: "+body), ack(ctx))
			}
			return ack(ctx)
		})
		if err != nil {
			t.Fatal("delivery after the restart:", err)
		}
		if body, _, ok, err := q.Consume(ctx, 300*time.Millisecond); ok || err != nil {
			t.Errorf("and then %q, %v, %v", body, ok, err)
		}
	})
}

// Who knows lockcheck but not this run gets in nowhere.
func TestPasswordsAreTheRunsOwn(t *testing.T) {
	needImage(t, sqlKind)
	needImage(t, queueKind)
	stage(t, env.Topology{SQL: true, Queue: true}, func(ctx context.Context, s *scene) {
		for _, n := range s.system.nodes() {
			switch n.kind {
			case sqlKind:
				db := process.NewSQL(n.dial, "lockcheck", 5*time.Second, 1, (&net.Dialer{}).DialContext)
				defer db.Close()
				if _, err := db.Query(ctx, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "1045") {
					s.Errorf("MariaDB, with a password of old: error %v, want 1045 (access denied)", err)
				}
			case queueKind:
				for _, url := range []string{"amqp://guest:guest@" + n.dial + "/", process.QueueURL(n.dial, "lockcheck")} {
					conn, err := amqp.DialConfig(url, amqp.Config{Dial: amqp.DefaultDial(5 * time.Second)})
					if !errors.Is(err, amqp.ErrCredentials) {
						s.Errorf("RabbitMQ, %s: error %v, want %v", url, err, amqp.ErrCredentials)
					}
					if err == nil {
						conn.Close()
					}
				}
			}
		}
	})
}
