# A lease lock with redis-rb, under test: a line of JSON in, a line of JSON out.
# See docs/protocol.md.
require "json"
require "redis"
require "securerandom"

hello = JSON.parse($stdin.gets)
$stdout.sync = true
limits = { timeout: 1, connect_timeout: 1, reconnect_attempts: 0 }
if hello["sentinels"]
  at = hello["sentinels"].map { |a| host, port = a.split(":"); { host: host, port: port.to_i } }
  redis = Redis.new(**limits, url: "redis://#{hello["master"]}", sentinels: at, role: :master)
else
  redis = Redis.new(**limits, url: "redis://#{hello["redis"][0]}")
end
owner = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("%s", KEYS[1]%s) end return 0'
DEL, EXPIRE = format(owner, "del", ""), format(owner, "pexpire", ", ARGV[2]")
ttl = hello["ttl_ms"]

answer = lambda do |request|
  key = "#{hello["prefix"]}lock:#{request["key"]}"
  case request["do"]
  when "acquire"
    token = SecureRandom.hex(16)
    redis.set(key, token, nx: true, px: ttl) ? { ok: true, token: token } : { busy: true }
  when "extend"
    redis.eval(EXPIRE, [key], [request["token"], ttl]) == 1 ? { ok: true } : { gone: true }
  else
    redis.eval(DEL, [key], [request["token"]]) == 1 ? { ok: true } : { gone: true }
  end
rescue Redis::CannotConnectError => e # nothing was sent
  { refused: e.message }
rescue Redis::CommandError => e # READONLY: a server that is no master did nothing
  e.message.start_with?("READONLY") ? { refused: e.message } : { unknown: e.message }
rescue Redis::BaseError => e
  { unknown: e.message }
end

puts JSON.generate(ready: "redis-rb #{Redis::VERSION}", can: ["extend"])
while (line = $stdin.gets)
  request = JSON.parse(line)
  puts JSON.generate({ id: request["id"] }.merge(answer.call(request)))
end
