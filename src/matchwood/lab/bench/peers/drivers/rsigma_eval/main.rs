//! Matches events with the crate rsigma-eval: `driver JOB EVENTS ANSWERS SECONDS`.
//!
//! JOB is {"rules": [[id, Sigma rule whose title is the id], …]}, EVENTS has an object per line. The
//! ids that match each event go to ANSWERS, and the figures to the standard output. Times are
//! processor times; an event is timed from parsed JSON to results.

use std::fs;
use std::io::{BufWriter, Write};

use rsigma_eval::{Engine, EvaluationResult, JsonEvent};
use rsigma_parser::parse_sigma_yaml;
use serde_json::{json, Value};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let job: Value = serde_json::from_str(&fs::read_to_string(&arguments[1]).unwrap()).unwrap();
    let limit: f64 = arguments[4].parse().unwrap();

    let started = processor_seconds();
    let mut rules = Vec::new();
    for rule in job["rules"].as_array().unwrap() {
        rules.extend(parse_sigma_yaml(rule[1].as_str().unwrap()).unwrap().rules);
    }
    let mut engine = Engine::new();
    if let Some((index, error)) = engine.add_rules(&rules).first() {
        panic!("{}: {error}", rules[*index].title);
    }
    let build_seconds = processor_seconds() - started;

    let events: Vec<Value> = fs::read_to_string(&arguments[2])
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut answers = BufWriter::new(fs::File::create(&arguments[3]).unwrap());
    let mut done = 0;
    let mut spent = 0.0;
    for event in &events {
        let started = processor_seconds();
        let found = matches(&engine, event);
        spent += processor_seconds() - started;
        let ids: Vec<&str> = found.iter().map(|result| result.header.rule_title.as_str()).collect();
        writeln!(answers, "{}", ids.join(" ")).unwrap();
        done += 1;
        if spent > limit {
            break;
        }
    }
    let mut best = spent;
    while done == events.len() && spent < limit {
        let started = processor_seconds();
        for event in &events {
            std::hint::black_box(matches(&engine, event));
        }
        let pass = processor_seconds() - started;
        best = best.min(pass);
        spent += pass;
    }
    println!("{}", json!({"build_seconds": build_seconds, "events_per_second": done as f64 / best}));
}

fn matches(engine: &Engine, event: &Value) -> Vec<EvaluationResult> {
    engine.evaluate(&JsonEvent::borrow(event))
}

/// The processor time of this process so far.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
