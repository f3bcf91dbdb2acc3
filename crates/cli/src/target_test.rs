use super::with_port;

#[test]
fn an_address_without_a_port_gets_the_default_one() {
    assert_eq!(with_port("localhost"), "localhost:6379");
    assert_eq!(with_port("10.0.0.7:7000"), "10.0.0.7:7000");
    assert_eq!(with_port("[::1]"), "[::1]:6379");
    assert_eq!(with_port("[::1]:7000"), "[::1]:7000");
}
