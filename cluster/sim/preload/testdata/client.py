"""An ordinary redis-py client: one round for each line of its input."""
import os, random, socket, sys, threading, time, uuid
import redis

for line in sys.stdin:
    client = redis.Redis("10.8.0.1", 6379, socket_timeout=1, socket_connect_timeout=0.5)
    print("up %.3f %s %f %d %s %d" % (time.time() - 1767225600, uuid.uuid4(), random.random(), os.getpid(), socket.gethostname(), hash("x")))
    time.sleep(0.5)
    threading.Event().wait(0.25)
    try:
        print("ping %s %.3f" % (client.ping(), time.time() - 1767225600))
    except redis.RedisError as e:
        print("%s %.3f" % (e, time.time() - 1767225600))
    sys.stdout.flush()
