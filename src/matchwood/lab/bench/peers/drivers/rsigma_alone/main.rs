//! Asks rsigma-eval: `driver JOBS ANSWERS`.
//!
//! A line of JOBS is {"rule": rule of Sigma, "events": [event, …]}, all as JSON text, which is YAML
//! too. Its line of ANSWERS has a 1 for each event that the rule matches, and a 0 for each other
//! one; it is empty if rsigma refuses the rule.

use std::fs;
use std::io::{BufWriter, Write};

use rsigma_eval::{Engine, JsonEvent};
use rsigma_parser::parse_sigma_yaml;
use serde_json::Value;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let jobs = fs::read_to_string(&arguments[1]).unwrap();
    let mut answers = BufWriter::new(fs::File::create(&arguments[2]).unwrap());
    for line in jobs.lines() {
        let job: Value = serde_json::from_str(line).unwrap();
        writeln!(answers, "{}", answers_of(&job)).unwrap();
    }
}

fn answers_of(job: &Value) -> String {
    let mut engine = Engine::new();
    match parse_sigma_yaml(job["rule"].as_str().unwrap()) {
        Ok(parsed) if parsed.rules.len() == 1 => {
            if !engine.add_rules(&parsed.rules).is_empty() {
                return String::new();
            }
        }
        _ => return String::new(),
    }
    let mut found = String::new();
    for text in job["events"].as_array().unwrap() {
        let event: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        let matches = engine.evaluate(&JsonEvent::borrow(&event));
        found.push(if matches.is_empty() { '0' } else { '1' });
    }
    found
}
