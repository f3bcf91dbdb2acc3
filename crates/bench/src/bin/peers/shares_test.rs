use super::*;

#[test]
fn sample_is_counted_where_it_stands() {
    let stacks = "\
brick0
\tffffffff81000001 tcp_ack
\tffffffff81000002 tcp_sendmsg_locked
\tffffffff81000003 io_send
\tffffffff81000004 __do_sys_io_uring_enter
\t    7f0000000001 io_uring_enter

brick0
\t    550000000001 brickyard_table::index::Index::candidates
\t    550000000002 brickyard_brick::execute::run

brick0-sync
\tffffffff81000005 iowrite16
\tffffffff81000006 __x64_sys_fdatasync
\t    7f0000000002 fdatasync

brick0
\tffffffff81000007 asm_sysvec_apic_timer_interrupt
\t    550000000003 _mi_page_malloc_zero

brick0
\t    550000000004 [unknown]

";
    let mut counts = BTreeMap::new();
    count_samples(stacks, &mut counts);
    let expected = [
        (OTHER_KERNEL, 1),
        (OTHER_PROGRAM, 1),
        ("send", 1),
        ("sync the log", 1),
        ("table", 1),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn every_part_that_is_counted_has_a_row() {
    let parts = CALLS.iter().chain(&CRATES).map(|(_, part)| part);
    for part in parts.chain(&[OTHER_KERNEL, OTHER_PROGRAM]) {
        assert!(PARTS.contains(part), "{part}");
    }
}
