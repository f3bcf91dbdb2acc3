//! The program as people meet it: help, version, completions, manual, benchmark, wrong usage.

use crate::support::{brickyard, start_server, text};

#[test]
fn every_subcommand_has_help() {
    let help = text(&brickyard(&["--help"]));
    assert!(help.contains("Exit codes:"), "{help}");
    for name in [
        "server",
        "dev",
        "load",
        "dump",
        "table",
        "bench",
        "inspect",
        "cert",
        "config",
        "completions",
        "man",
    ] {
        assert!(
            help.contains(&format!("\n  {name} ")),
            "{name} is missing in:\n{help}"
        );
        let output = brickyard(&[name, "--help"]);
        assert!(output.status.success(), "{name}: {}", text(&output));
        assert!(
            text(&output).contains("Usage: brickyard"),
            "{name}: {}",
            text(&output)
        );
    }
}

#[test]
fn the_version_is_the_one_of_the_build() {
    let output = brickyard(&["--version"]);
    assert_eq!(
        text(&output),
        format!("brickyard {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_usage_is_exit_code_2_and_says_what_is_expected() {
    for (arguments, expected) in [
        (&["load"][..], "<FILE>..."),
        (
            &["bench", "--rate", "5", "--pipeline", "2"],
            "cannot be used with",
        ),
        (&["bench", "--distribution", "gauss"], "use uniform, zipf"),
        (&["table", "drop", "t"], "--confirm"),
        (&["lode"], "load"),
    ] {
        let output = brickyard(arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(
            text(&output).contains(expected),
            "{expected} is not in: {}",
            text(&output)
        );
    }
}

#[test]
fn completions_and_manual_are_made_for_all_subcommands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = brickyard(&["completions", shell]);
        assert!(
            output.status.success() && text(&output).contains("brickyard"),
            "{shell}"
        );
    }
    assert!(text(&brickyard(&["man"])).contains(".TH brickyard 1"));
    let dir = tempfile::TempDir::new().unwrap();
    let output = brickyard(&["man", "--dir", dir.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output));
    for page in [
        "brickyard.1",
        "brickyard-load.1",
        "brickyard-table-create.1",
    ] {
        assert!(dir.path().join(page).is_file(), "{page} is missing");
    }
}

#[test]
fn bench_measures_in_both_loops() {
    let server = start_server();
    let common = [
        "bench",
        "--address",
        &server.address,
        "--keys",
        "1000",
        "--clients",
        "4",
    ];
    let closed = [
        "--fill",
        "--ratio",
        "0.5",
        "--count",
        "2000",
        "--warm-up",
        "0",
        "--json",
    ];
    let output = brickyard(&[&common[..], &closed].concat());
    assert!(output.status.success(), "{}", text(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["count"], 2000);
    assert_eq!(
        report["operations"][0]["misses"], 0,
        "--fill has written every key"
    );
    assert_eq!(server.call(&["DBSIZE"]).integer(), Some(1000));

    let open = [
        "--rate",
        "20000",
        "--arrivals",
        "constant",
        "--count",
        "2000",
        "--warm-up",
        "0",
    ];
    let output = brickyard(&[&common[..], &open].concat());
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        text(&output).contains("of 20,000/s offered"),
        "{}",
        text(&output)
    );
}
