//! Each program: it starts beside a cluster, makes its table, serves, and ends on Ctrl-C.

use crate::service::{Service, look};
use brickyard_e2e::client::Client;
use brickyard_e2e::cluster::Cluster;

#[test]
fn each_service_makes_its_table_serves_and_stops_on_ctrl_c() {
    let cluster = Cluster::start(&[0], 1, &[]);
    for (name, path) in [
        ("site", "/"),
        ("keystore", "/secrets"),
        ("recommender", "/"),
    ] {
        let mut service = Service::start(name, &cluster, &[]);
        let answer = look(&[service.port()], path, &[]);
        let expected = if name == "keystore" { 401 } else { 200 };
        assert_eq!(answer.status, expected, "{name}: {}", answer.body);
        assert_eq!(look(&[service.port()], "/nothing", &[]).status, 404);
        assert!(cluster.table(0, name).is_ok(), "{name} has made no table");
        let said = service.stop();
        assert!(said.ends_with(&format!("{name}: stopped\n")), "{said}");
    }
}

#[test]
fn table_of_another_name_is_used_and_its_attributes_stay() {
    let cluster = Cluster::start(&[0], 1, &[]);
    cluster.create_table("pages", &["PARTITIONS", "4", "DURABILITY", "fsync"]);
    let service = Service::start("site", &cluster, &["--table", "pages"]);
    assert_eq!(look(&[service.port()], "/", &[]).status, 200);
    let mut client: Client = cluster.client(0);
    let described = client.call(&["TABLE", "DESCRIBE", "pages"]);
    assert!(described.to_string().contains("fsync"), "{described}");
    assert!(cluster.table(0, "site").is_err(), "it made a second table");
}
