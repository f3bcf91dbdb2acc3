use super::Words;

#[test]
fn a_word_is_a_key_and_its_line_the_value() {
    let records: Vec<_> = Words::new(&b"apple\n\nbrick\n"[..])
        .map(|record| record.unwrap())
        .map(|record| (record.key, record.value))
        .collect();
    assert_eq!(
        records,
        [
            (b"apple".to_vec(), b"1".to_vec()),
            (b"brick".to_vec(), b"3".to_vec())
        ]
    );
}
