// Asks json-logic-js: node driver.js JOBS ANSWERS.
//
// A line of JOBS is {"rule": expression, "events": [data, …]}, all as JSON text. Its line of
// ANSWERS has a 1 for each data of which the expression is truthy, and a 0 for each other one.
const files = require("fs");
const jsonLogic = require("json-logic-js");

const answers = files.readFileSync(process.argv[2], "utf8").trim().split("\n").map((line) => {
  const job = JSON.parse(line);
  const rule = JSON.parse(job.rule);
  return job.events
    .map((event) => (jsonLogic.truthy(jsonLogic.apply(rule, JSON.parse(event))) ? "1" : "0"))
    .join("");
});
files.writeFileSync(process.argv[3], answers.join("\n") + "\n");
