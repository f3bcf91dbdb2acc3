use super::*;

#[test]
fn synced_bytes_and_names_survive_every_power_cut() {
    for seed in 0..200 {
        let disk = MemDisk::new(seed);
        let file = disk.create("a").unwrap();
        file.write_all_at(&[1; 5000], 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir().unwrap();
        file.write_all_at(&[2; 5000], 5000).unwrap();
        disk.create("b").unwrap();
        disk.power_cut();
        let content = disk.content("a").unwrap();
        assert!(
            content.len() >= 5000 && content[..5000] == [1; 5000],
            "seed {seed}"
        );
        let torn = &content[5000..];
        assert!(torn.iter().all(|byte| [0, 2].contains(byte)), "seed {seed}");
    }
}

#[test]
fn power_cut_may_leave_holes_and_lose_names() {
    let (mut holes, mut lost) = (0, 0);
    for seed in 0..200 {
        let disk = MemDisk::new(seed);
        disk.create("a")
            .unwrap()
            .write_all_at(&[2; 5000], 0)
            .unwrap();
        disk.power_cut();
        let content = disk.content("a");
        lost += usize::from(content.is_none());
        let content = content.unwrap_or_default();
        let hole = content.iter().position(|byte| *byte == 0);
        holes += usize::from(hole.is_some_and(|at| content[at..].contains(&2)));
    }
    assert!(
        holes > 0 && lost > 0,
        "{holes} with holes, {lost} names lost"
    );
}

#[test]
fn full_disk_takes_a_part_of_a_write() {
    let disk = MemDisk::new(1);
    let file = disk.create("a").unwrap();
    disk.inject(Fault::Full { capacity: 10 });
    assert_eq!(file.write_at(&[1; 15], 0).unwrap(), 10);
    let error = file.write_all_at(&[1; 5], 10).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    file.write_all_at(&[2; 10], 0).unwrap();
    assert_eq!(disk.space().unwrap(), Space { free: 0, total: 10 });
}

#[test]
fn dead_process_changes_nothing_more() {
    let disk = MemDisk::new(1);
    let file = disk.create("a").unwrap();
    disk.inject(Fault::Dies { after: 1 });
    file.write_all_at(b"alive", 0).unwrap();
    assert!(file.write_all_at(b"dying", 5).is_err());
    let content = disk.content("a").unwrap();
    assert!(file.write_all_at(b"dead", 5).is_err());
    assert!(disk.create("b").is_err() && disk.remove("a").is_err());
    assert_eq!(disk.content("a").unwrap(), content);
}

#[test]
fn same_seed_gives_the_same_run() {
    let run = || {
        let disk = MemDisk::new(77);
        disk.create("a")
            .unwrap()
            .write_all_at(&[2; 50_000], 0)
            .unwrap();
        disk.sync_dir().unwrap();
        disk.power_cut();
        disk.content("a")
    };
    assert_eq!(run(), run());
}
