use super::*;
use clap::{Parser, error::ErrorKind};

#[derive(Debug, Parser)]
struct CommandLine {
    #[command(flatten)]
    cluster: ClusterArguments,
}

fn parse(words: &[&str]) -> Result<ClusterArguments, clap::Error> {
    let all = ["service"].into_iter().chain(words.iter().copied());
    CommandLine::try_parse_from(all).map(|it| it.cluster)
}

#[test]
fn several_nodes_are_told_apart_by_commas() {
    let words = ["--cluster", "one:7001,two", "--deadline", "250"];
    let arguments = parse(&words).expect("two nodes");
    let options = arguments.options().expect("no files to read");
    assert_eq!(options.seeds, ["one:7001", "two:6379"]);
    assert_eq!(options.deadline, Duration::from_millis(250));
    assert!(options.tls.is_none());
}

#[test]
fn certificate_without_an_authority_or_a_key_is_refused() {
    for words in [
        &["--cert", "a.crt"][..],
        &["--cert", "a.crt", "--cert-key", "a.key"],
        &["--ca", "ca.crt", "--cert", "a.crt"],
        &["--cert-key", "a.key"],
    ] {
        let refused = parse(words).expect_err("half of what TLS takes");
        assert_eq!(
            refused.kind(),
            ErrorKind::MissingRequiredArgument,
            "{words:?}"
        );
    }
}

#[tokio::test]
async fn no_cluster_is_told_with_what_to_do() {
    // A port that was free a moment ago: nobody listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    drop(listener);
    let arguments = parse(&["--cluster", &address]).expect("an address");
    let error = arguments.open("site").await.expect_err("nobody is there");
    let told = format!("{error:#}");
    assert!(told.contains(&address), "{told}");
    assert!(told.contains("brickyard dev"), "{told}");
}
