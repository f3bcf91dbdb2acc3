//! Any bytes as a file that `brickyard load` takes: no panic, every line counted once, and no record that a server
//! would refuse for its size.
//!
//! The first byte chooses how the readers are asked; the rest is the file, for each of them.

/// The readers are the program's own, which is no room that others use; so they are compiled in.
#[expect(
    dead_code,
    reason = "another package's files, of which only the readers are run"
)]
#[path = "../../../cli/src/load"]
mod load {
    pub(super) mod control;
    pub(super) mod csv;
    pub(super) mod dump;
    pub(super) mod json_lines;
    mod lines;
    pub(super) mod record;
    pub(super) mod words;
}

use brickyard_types::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use load::record::{Record, Trouble};

/// See the module.
pub(super) fn run(input: &[u8]) {
    let Some((choice, file)) = input.split_first() else {
        return;
    };
    let field = |bit: u8, name: &str| (choice & bit != 0).then(|| name.to_owned());
    let key = field(1, "id");
    if let Ok(rows) = load::csv::Rows::new(file, key.as_deref(), field(2, "value").as_deref()) {
        check(rows);
    }
    check(load::json_lines::JsonLines::new(file, key));
    let name = field(1, "Section").unwrap_or_else(|| load::control::KEY_FIELD.to_owned());
    check(load::control::Paragraphs::new(file, name));
    check(load::words::Words::new(file));
    check(load::dump::Dump::new(file));
}

fn check(records: impl Iterator<Item = Result<Record, Trouble>>) {
    for record in records {
        match record {
            Ok(record) => {
                let (key, value) = (record.key.len(), record.value.len());
                assert!(key > 0 && key <= KEY_BYTES_MAX && value <= VALUE_BYTES_MAX);
            }
            Err(Trouble::BadLine(bad)) => assert!(!bad.reason.is_empty()),
            Err(Trouble::Unreadable(error)) => drop(error.to_string()),
        }
    }
}

/// A file of each kind.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let files = [
        "\0id,value,x\n1,\"a \"\"b\"\"\nc\",z\n2,,\n",
        "\x03id,value\n1,v\nonly\n",
        "\0{\"id\": 1, \"value\": [1, {\"a\": null}]}\n{\"id\": \"x\"}\r\n\n{}\n",
        "\x01{\"a\": \"\\u00e9\\ud83d\\ude00\", \"id\": 1.5e3}\n[]\n",
        "\0Package: a\nVersion: 1\nDescription: one\n two\n .\n three\n\n# no\nPackage: b\n",
        "\x01Section: x\n continued\n\n\n:\nSection:\n",
        "\0one\ntwo\n\nthree",
        "\0{\"k\":\"a2V5\",\"v\":\"dmFsdWU=\",\"ms\":5}\n",
    ];
    files.iter().map(|file| file.as_bytes().to_vec()).collect()
}
