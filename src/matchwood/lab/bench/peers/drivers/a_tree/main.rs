//! Matches events with the crate a-tree: `driver JOB EVENTS ANSWERS SECONDS`.
//!
//! JOB is {"attributes": {name: kind}, "rules": [[id, text], …]}, EVENTS has an object per line. The
//! ids that match each event go to ANSWERS, and the figures to the standard output. Times are
//! processor times; an event is timed from parsed JSON to ids.

use std::fs;
use std::io::{BufWriter, Write};

use a_tree::{ATree, AttributeDefinition, Event};
use serde_json::{json, Map, Value};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let job: Value = serde_json::from_str(&fs::read_to_string(&arguments[1]).unwrap()).unwrap();
    let limit: f64 = arguments[4].parse().unwrap();

    let started = processor_seconds();
    let definitions: Vec<_> = job["attributes"].as_object().unwrap().iter().map(definition).collect();
    let mut tree = ATree::<u64>::new(&definitions).unwrap();
    for rule in job["rules"].as_array().unwrap() {
        let text = rule[1].as_str().unwrap();
        if let Err(error) = tree.insert(&rule[0].as_u64().unwrap(), text) {
            panic!("{text}: {error}");
        }
    }
    let build_seconds = processor_seconds() - started;

    let events: Vec<Map<String, Value>> = fs::read_to_string(&arguments[2])
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut answers = BufWriter::new(fs::File::create(&arguments[3]).unwrap());
    let mut done = 0;
    let mut spent = 0.0;
    for event in &events {
        let started = processor_seconds();
        let found = matches(&tree, event);
        spent += processor_seconds() - started;
        let ids: Vec<String> = found.iter().map(u64::to_string).collect();
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
            std::hint::black_box(matches(&tree, event));
        }
        let pass = processor_seconds() - started;
        best = best.min(pass);
        spent += pass;
    }
    println!("{}", json!({"build_seconds": build_seconds, "events_per_second": done as f64 / best}));
}

fn definition((name, kind): (&String, &Value)) -> AttributeDefinition {
    match kind.as_str().unwrap() {
        "boolean" => AttributeDefinition::boolean(name),
        "integer" => AttributeDefinition::integer(name),
        "fraction" => AttributeDefinition::float(name),
        "string" => AttributeDefinition::string(name),
        "strings" => AttributeDefinition::string_list(name),
        other => panic!("an attribute of kind {other}"),
    }
}

fn matches(tree: &ATree<u64>, event: &Map<String, Value>) -> Vec<u64> {
    let event: Event = encoded(tree, event);
    tree.search(&event).unwrap().matches().iter().map(|id| **id).collect()
}

fn encoded(tree: &ATree<u64>, event: &Map<String, Value>) -> Event {
    let mut builder = tree.make_event();
    for (name, value) in event {
        match value {
            Value::Bool(known) => builder.with_boolean(name, *known),
            Value::String(text) => builder.with_string(name, text),
            Value::Array(items) => {
                let texts: Vec<&str> = items.iter().map(|item| item.as_str().unwrap()).collect();
                builder.with_string_list(name, &texts)
            }
            Value::Number(number) => match number.as_i64() {
                Some(whole) => builder
                    .with_integer(name, whole)
                    .or_else(|_| builder.with_float(name, whole, 0)),
                None => {
                    let text = number.to_string();
                    let (whole, fraction) = text.split_once('.').unwrap();
                    let digits: i64 = format!("{whole}{fraction}").parse().unwrap();
                    builder.with_float(name, digits, fraction.len() as u32)
                }
            },
            other => panic!("{name} is {other}"),
        }
        .unwrap();
    }
    builder.build().unwrap()
}

/// The processor time of this process so far.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives until the call returns.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
