import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import software.amazon.event.ruler.Machine;

/**
 * Asks event-ruler about one pattern at a time: {@code java Driver JOBS ANSWERS}.
 *
 * <p>A line of JOBS is {"rule": pattern, "events": [event, …]}, all as JSON text. Its line of
 * ANSWERS has a 1 for each event that the pattern matches, and a 0 for each other one.
 */
final class Driver {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper mapper = new ObjectMapper();
    try (PrintWriter answers = new PrintWriter(arguments[1], "UTF-8")) {
      for (String line : Files.readAllLines(Path.of(arguments[0]))) {
        JsonNode job = mapper.readTree(line);
        Machine machine = Machine.builder().build();
        machine.addRule("rule", job.get("rule").asText());
        StringBuilder found = new StringBuilder();
        for (JsonNode event : job.get("events")) {
          found.append(machine.rulesForJSONEvent(event.asText()).isEmpty() ? '0' : '1');
        }
        answers.println(found);
      }
    }
  }
}
