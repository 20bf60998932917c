import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * One warm JVM for many tests: a request is one line of JSON on stdin, its answer one on stdout.
 *
 * <p>{"op": "tool", ...} runs the main method of one of Kafka's tools; every other operation is a
 * call of Kafka's own Java client. Requests are served one at a time, in order.
 */
public final class Harness {
    static final ObjectMapper JSON = new ObjectMapper();

    private Harness() {
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(
            new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        BufferedReader requests = new BufferedReader(
            new InputStreamReader(new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8));
        System.setOut(System.err);
        try (Client client = new Client()) {
            String line;
            while ((line = requests.readLine()) != null) {
                answers.println(JSON.writeValueAsString(answer(client, JSON.readTree(line))));
            }
        }
        Runtime.getRuntime().halt(0); // tools may leave threads behind that are not daemons
    }

    private static ObjectNode answer(Client client, JsonNode request) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            String op = request.get("op").asText();
            JsonNode result = op.equals("tool") ? Tools.run(request) : client.call(op, request);
            answer.set("ok", result);
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while (cause instanceof java.util.concurrent.ExecutionException) {
                cause = cause.getCause();
            }
            answer.put("error", cause.getClass().getSimpleName());
            answer.put("message", String.valueOf(cause.getMessage()));
        }
        return answer;
    }
}
