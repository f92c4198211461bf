<?php // An ordinary phpredis client: one round for each line of its input.
while (fgets(STDIN) !== false) {
    $redis = new Redis();
    try {
        $redis->connect('10.8.0.1', 6379, 0.5, null, 0, 1.0);
        printf("up %.3f %s %d %s\n", microtime(true) - 1767225600, bin2hex(random_bytes(8)), getmypid(), gethostname());
        usleep(1000);
        printf("ping %s %.3f\n", json_encode($redis->ping()), microtime(true) - 1767225600);
    } catch (RedisException $e) {
        printf("%s %.3f\n", $e->getMessage(), microtime(true) - 1767225600);
    }
}
