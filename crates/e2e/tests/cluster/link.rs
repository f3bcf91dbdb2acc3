//! The link between the control plane's leader and another node is cut, and nothing else: what that node alone has is served all the same.

use brickyard_e2e::cluster::Cluster;
use brickyard_e2e::deadline::wait_for;
use brickyard_e2e::network::Network;

#[test]
fn a_node_whose_link_to_the_leader_is_cut_is_led_by_one_that_hears_both() {
    let Some(network) = Network::new(3) else {
        return;
    };
    let cluster = Cluster::start_on(Some(network), &[0, 1, 2], 1, &[]);
    cluster.create_table("alone", &["PARTITIONS", "16", "REPLICAS", "1"]);
    let led = cluster.leader();
    let (other, third) = ((led + 1) % 3, (led + 2) % 3);
    let key = wait_for("a key of the other node", || {
        let mut keys = (0..1_000).map(|number| format!("key{number}"));
        keys.find(|key| {
            let holders = cluster.holders("alone", key);
            holders.is_ok_and(|it| it == [other])
        })
    });
    let network = cluster.network().unwrap();
    network.cut(led, other);
    network.cut(other, led);
    wait_for("the third node to lead", || {
        (cluster.leader() == third).then_some(())
    });
    // Its lease of before is over soon, and then it needs one of the third.
    for number in 0..100 {
        wait_for("a write at the other node", || {
            let mut client = cluster.table(other, "alone").ok()?;
            let reply = client.call(&["SET", &key, &number.to_string()]);
            reply.is_ok().then_some(())
        });
    }
    network.heal();
}
