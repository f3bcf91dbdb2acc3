use crate::testing::MemoryKeyspace;

#[test]
fn fractions_add_up_without_binary_dust() {
    let mut keyspace = MemoryKeyspace::default();
    keyspace.run_line("set a 0.1 ex 9");
    assert_eq!(keyspace.run_line("incrbyfloat a 0.2"), "$3\r\n0.3\r\n");
    assert_eq!(keyspace.run_line("incrbyfloat a -0.3"), "$1\r\n0\r\n");
    assert_eq!(keyspace.run_line("incrbyfloat a 3.0e3"), "$4\r\n3000\r\n");
    assert_eq!(keyspace.run_line("ttl a"), ":9\r\n");
}

#[test]
fn what_is_no_number_and_what_is_past_all_numbers_is_refused() {
    let mut keyspace = MemoryKeyspace::default();
    for text in ["nan", "abc", "1e", "1e5000", "1e-5000", "", "1,5"] {
        let line = format!("incrbyfloat a {text}");
        assert_eq!(
            keyspace.run_line(&line),
            "-ERR value is not a valid float\r\n",
            "{text}"
        );
    }
    let error = "-ERR increment would produce NaN or Infinity\r\n";
    assert_eq!(keyspace.run_line("incrbyfloat a -inf"), error);
    keyspace.run_line("set a 1e4932");
    assert_eq!(keyspace.run_line("incrbyfloat a 1e4932"), error);
}
