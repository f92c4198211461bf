<?php // The adapter: a line of JSON in, a line of JSON out. See docs/protocol.md.
require __DIR__ . '/RedisLock.php';
require __DIR__ . '/connect.php';

$hello = json_decode(fgets(STDIN), true);
$redis = null; // the connection, once there is one
$up = function () use (&$redis, $hello) {
    return $redis ??= isset($hello['sentinels']) ? connectToMaster($hello['sentinels'], $hello['master']) : connect($hello['redis'][0]);
};
$ttl = max(1, intdiv($hello['ttl_ms'], 1000));
$lock = new RedisLock($up, $hello['prefix'] . 'lock:', $ttl);
echo json_encode(['ready' => 'php redis lock', 'can' => ['extend'], 'ttl_ms' => $ttl * 1000]), "\n";

while (($line = fgets(STDIN)) !== false) {
    ['id' => $id, 'do' => $do, 'key' => $key] = json_decode($line, true);
    $answer = ['id' => $id];
    $connected = $redis !== null;
    try {
        $up(); // what fails here has not been sent
        $connected = true;
        $answer += match ($do) {
            'acquire' => $lock->acquire($key) ? ['ok' => true, 'token' => $lock->owner] : ['busy' => true],
            'extend' => $lock->renew($key) ? ['ok' => true] : ['gone' => true],
            'release' => $lock->release($key) ? ['ok' => true] : ['gone' => true],
        };
    } catch (RedisException $e) {
        $redis = null; // the next request looks for the master anew
        $certain = !$connected || preg_match('/^(READONLY|LOADING|MASTERDOWN) /', $e->getMessage());
        $answer += [$certain ? 'refused' : 'unknown' => $e->getMessage()];
    }
    echo json_encode($answer), "\n";
}
