import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import software.amazon.event.ruler.Machine;

/**
 * Matches events with event-ruler: {@code java Driver JOB EVENTS ANSWERS SECONDS}.
 *
 * <p>JOB is {"rules": [[id, [pattern, …]], …]}, EVENTS has an object per line. The ids that match
 * each event go to ANSWERS, and the figures to the standard output. Times are processor times of
 * this thread, without Java's compiler and collector; an event is timed from JSON text to ids.
 */
final class Driver {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  public static void main(String[] arguments) throws Exception {
    JsonNode job = new ObjectMapper().readTree(new File(arguments[0]));
    double limit = Double.parseDouble(arguments[3]);

    double started = processorSeconds();
    Machine machine = Machine.builder().build();
    for (JsonNode rule : job.get("rules")) {
      for (JsonNode pattern : rule.get(1)) {
        machine.addRule(rule.get(0).asText(), pattern.asText());
      }
    }
    double buildSeconds = processorSeconds() - started;

    List<String> events = Files.readAllLines(Path.of(arguments[1]));
    int done = 0;
    double spent = 0;
    try (PrintWriter answers = new PrintWriter(arguments[2], "UTF-8")) {
      for (String event : events) {
        started = processorSeconds();
        List<String> found = machine.rulesForJSONEvent(event);
        spent += processorSeconds() - started;
        answers.println(String.join(" ", found));
        done++;
        if (spent > limit) {
          break;
        }
      }
    }
    double best = spent;
    long found = 0;
    while (done == events.size() && spent < limit) {
      started = processorSeconds();
      for (String event : events) {
        found += machine.rulesForJSONEvent(event).size();
      }
      double pass = processorSeconds() - started;
      best = Math.min(best, pass);
      spent += pass;
    }
    System.out.printf(
        Locale.ROOT,
        "{\"build_seconds\": %f, \"events_per_second\": %f, \"matches\": %d}%n",
        buildSeconds,
        done / best,
        found);
  }

  private static double processorSeconds() {
    return THREADS.getCurrentThreadCpuTime() / 1e9;
  }
}
