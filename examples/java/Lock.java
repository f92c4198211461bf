// A lease lock on one Redis, over a plain socket: SET NX PX, and a script that
// deletes the key only if it is ours. Java 11 or later runs it as it is: java Lock.java
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.regex.*;

class Lock {
    static final String IF_MINE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call(%s) end return 0";
    static String hello;
    static Socket socket;
    static int count;

    // The messages are flat, and their keys and tokens need no escapes.
    static String field(String json, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":\\[?\"?([^\",\\]}]*)").matcher(json);
        return m.find() ? m.group(1) : "";
    }

    static String redis(String... args) throws IOException {
        if (socket == null) {
            String[] address = field(hello, "redis").split(":");
            Socket s = new Socket(); // nothing has been sent until it stands
            try { s.connect(new InetSocketAddress(address[0], Integer.parseInt(address[1])), 1000); }
            catch (IOException e) { return "refused: " + e; }
            (socket = s).setSoTimeout(1000);
        }
        StringBuilder command = new StringBuilder("*" + args.length + "\r\n");
        for (String a : args) command.append("$" + a.getBytes(StandardCharsets.UTF_8).length + "\r\n" + a + "\r\n");
        try {
            socket.getOutputStream().write(command.toString().getBytes(StandardCharsets.UTF_8));
            String line = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8)).readLine();
            if (line == null) throw new EOFException("connection closed");
            return line; // the replies of this lock are one line each
        } catch (IOException e) { socket.close(); socket = null; return "unknown: " + e; }
    }

    // outcome is what a reply says if it is neither of the two that are expected.
    static String outcome(String reply) {
        boolean refused = reply.startsWith("refused: ") || reply.matches("-(READONLY|LOADING|MASTERDOWN|NOREPLICAS|OOM) .*");
        return "\"" + (refused ? "refused" : "unknown") + "\":\"" + reply.replaceAll("[\"\\\\\\p{Cntrl}]", " ") + "\"";
    }

    static String answer(String request) throws Exception {
        String key = field(hello, "prefix") + field(request, "key"), ttl = field(hello, "ttl_ms"), what = field(request, "do");
        if (!what.equals("acquire")) {
            String command = what.equals("release") ? "'del', KEYS[1]" : "'pexpire', KEYS[1], ARGV[2]";
            String reply = redis("EVAL", String.format(IF_MINE, command), "1", key, field(request, "token"), ttl);
            return reply.equals(":1") ? "\"ok\":true" : reply.equals(":0") ? "\"gone\":true" : outcome(reply);
        }
        String token = field(hello, "worker") + "-" + field(hello, "life") + "-" + ++count;
        long until = System.nanoTime() + Long.parseLong(field(hello, "wait_ms")) * 1_000_000;
        for (;; Thread.sleep(10)) {
            String reply = redis("SET", key, token, "NX", "PX", ttl);
            if (reply.equals("+OK")) return "\"ok\":true,\"token\":\"" + token + "\"";
            if (!reply.equals("$-1")) return outcome(reply);
            if (System.nanoTime() >= until) return "\"busy\":true";
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        hello = in.readLine();
        System.out.println("{\"ready\":\"java-lock 1\",\"can\":[\"extend\"]}");
        for (String line; (line = in.readLine()) != null; ) System.out.println("{\"id\":" + field(line, "id") + "," + answer(line) + "}");
    }
}
