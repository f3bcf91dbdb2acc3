use super::*;

fn rows() -> Vec<Row> {
    (0..5000)
        .map(|number| Row {
            key: format!("key:{number}").into_bytes(),
            op: number,
            expires_at: (number % 3 == 0).then_some(1_900_000_000_000 + number),
            value: (number % 5 > 0).then(|| vec![number as u8; (number % 400) as usize]),
            is_payload: number % 7 == 0,
        })
        .collect()
}

fn written() -> (Totals, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut writer = PartWriter::begin(&mut bytes, 7).unwrap();
    for row in rows() {
        writer.push(&row).unwrap();
    }
    let (totals, len) = writer.end().unwrap();
    assert_eq!(len, bytes.len() as u64);
    (totals, bytes)
}

fn read(bytes: &[u8]) -> anyhow::Result<(Vec<Row>, Totals)> {
    let mut reader = PartReader::begin(bytes, 7)?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row()? {
        rows.push(row);
    }
    Ok((rows, reader.totals()))
}

#[test]
fn what_is_written_is_read_back() {
    let (totals, bytes) = written();
    let (back, told) = read(&bytes).unwrap();
    assert_eq!(back, rows());
    assert_eq!(told, totals);
    assert_eq!((totals.rows, totals.values), (5000, 4000));
}

#[test]
fn an_empty_partition_has_a_part() {
    let mut bytes = Vec::new();
    let (totals, _) = PartWriter::begin(&mut bytes, 7).unwrap().end().unwrap();
    assert_eq!(totals, Totals::default());
    assert_eq!(read(&bytes).unwrap().0, []);
}

/// Goal: no damage goes unnoticed. Method: each byte of a file is changed, one at a time; and the file is cut at each.
#[test]
fn any_changed_byte_is_noticed() {
    let mut bytes = Vec::new();
    let mut writer = PartWriter::begin(&mut bytes, 7).unwrap();
    for row in &rows()[..20] {
        writer.push(row).unwrap();
    }
    writer.end().unwrap();
    for at in 0..bytes.len() {
        // The uncompressed length of the end's frame means nothing.
        let end = bytes.len() - 36;
        if (end + 4..end + 8).contains(&at) {
            continue;
        }
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(read(&damaged).is_err(), "byte {at}");
        assert!(read(&bytes[..at]).is_err(), "cut at {at}");
    }
    bytes.push(0);
    assert!(read(&bytes).is_err(), "more behind the end");
}

#[test]
fn parts_of_other_partitions_and_formats_are_refused() {
    let (_, mut bytes) = written();
    let error = PartReader::begin(&bytes[..], 8).err().unwrap().to_string();
    assert!(error.contains("of partition 7"), "{error}");
    bytes[8] = 9;
    let error = PartReader::begin(&bytes[..], 7).err().unwrap().to_string();
    assert!(error.contains("format 9"), "{error}");
}
