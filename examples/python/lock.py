"""redis-py's own Lock, as it is, under test: a line of JSON in, a line of JSON
out. See docs/protocol.md."""
import json
import sys

import redis
from redis.exceptions import LockError, ReadOnlyError
from redis.sentinel import MasterNotFoundError, Sentinel

hello = json.loads(sys.stdin.readline())
limits = {"socket_timeout": 1, "socket_connect_timeout": 1}
if "sentinels" in hello:
    watchers = [tuple(a.split(":")) for a in hello["sentinels"]]
    client = Sentinel(watchers, sentinel_kwargs={"socket_timeout": 0.3, "socket_connect_timeout": 0.3}).master_for(hello["master"], **limits)
else:
    client = redis.Redis.from_url("redis://" + hello["redis"][0], **limits)
locks = {}  # by key


def answer(do, key):
    if do == "acquire":
        lock = client.lock(hello["prefix"] + "lock:" + key, timeout=hello["ttl_ms"] / 1000, blocking_timeout=hello["wait_ms"] / 1000)
        locks.setdefault(key, lock)
        if not lock.acquire():
            return {"busy": True}  # perhaps by ourselves: then the lock that we have stays
        locks[key] = lock
        return {"ok": True, "token": lock.local.token.decode()}
    lock = locks[key]
    lock.extend(hello["ttl_ms"] / 1000, replace_ttl=True) if do == "extend" else lock.release()
    return {"ok": True}


print(json.dumps({"ready": "redis-py " + redis.__version__, "can": ["extend"]}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        said = answer(request["do"], request["key"])
    except LockError as e:  # it is not ours any more
        said = {"gone": True}
    except (MasterNotFoundError, ReadOnlyError) as e:  # nothing was done
        said = {"refused": str(e)}
    except redis.RedisError as e:
        said = {"unknown": str(e)}
    print(json.dumps({"id": request["id"], **said}), flush=True)
