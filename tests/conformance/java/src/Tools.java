import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.utils.Exit;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Runs a tool as if in a process of its own: captured streams, its exit status caught. */
final class Tools {
    private Tools() {
    }

    /** What a tool throws through its own frames when it asks to end the process. */
    private static final class Ended extends Error {
        private static final long serialVersionUID = 1;

        final int status;

        Ended(int status) {
            super("exit " + status, null, false, false);
            this.status = status;
        }
    }

    /** The first status asked for is the process's; a tool may catch Ended and exit again. */
    private static Integer firstStatus;
    private static final List<Runnable> hooks = new ArrayList<>();

    private static void end(int status, String message) {
        if (message != null) {
            System.err.println(message);
        }
        if (firstStatus == null) {
            firstStatus = status;
        }
        // A process would be gone now: what the tool says while Ended passes through it is not output.
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        throw new Ended(status);
    }

    static JsonNode run(JsonNode request) throws Exception {
        List<String> args = new ArrayList<>();
        request.get("args").forEach(arg -> args.add(arg.asText()));
        Class<?> tool = Class.forName(request.get("class").asText());
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        byte[] input = request.path("stdin").asText("").getBytes(StandardCharsets.UTF_8);
        PrintStream realOut = System.out;
        PrintStream realErr = System.err;
        InputStream realIn = System.in;
        firstStatus = null;
        hooks.clear();
        Exit.setExitProcedure(Tools::end);
        Exit.setHaltProcedure(Tools::end);
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        System.setIn(new ByteArrayInputStream(input));
        try {
            tool.getMethod("main", String[].class).invoke(null, (Object) args.toArray(String[]::new));
        } catch (InvocationTargetException wrapped) {
            if (!(wrapped.getCause() instanceof Ended)) {
                wrapped.getCause().printStackTrace();
                firstStatus = firstStatus == null ? 1 : firstStatus;
            }
        } finally {
            hooks.forEach(Runnable::run);
            System.setOut(realOut);
            System.setErr(realErr);
            System.setIn(realIn);
            Exit.resetExitProcedure();
            Exit.resetHaltProcedure();
            Exit.resetShutdownHookAdder();
        }
        ObjectNode result = Harness.JSON.createObjectNode();
        result.put("status", firstStatus == null ? 0 : firstStatus);
        result.put("out", out.toString(StandardCharsets.UTF_8));
        result.put("err", err.toString(StandardCharsets.UTF_8));
        return result;
    }
}
