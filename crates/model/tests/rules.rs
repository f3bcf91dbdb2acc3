//! Each rule is needed: without it the model comes to a state in which a claim does not hold.

use brickyard_model::{Replication, Rule, Scope};

macro_rules! needed {
    ($($test:ident $rule:ident,)*) => {
        $(
            #[test]
            fn $test() {
                is_needed(Rule::$rule);
            }
        )*

        #[test]
        fn every_rule_has_its_test() {
            assert_eq!(Rule::ALL, [$(Rule::$rule,)*]);
        }
    };
}

needed! {
    rule_1_refusals_go_ahead RefusalsGoAhead,
    rule_2_streams_are_named StreamsAreNamed,
    rule_2_records_follow RecordsFollow,
    rule_3_grants_name_maps GrantsNameMaps,
    rule_3_the_loop_acknowledges TheLoopAcknowledges,
    rule_4_learners_vote LearnersVote,
    rule_4_learners_hold_all LearnersHoldAll,
    rule_4_promotions_name_views PromotionsNameViews,
    rule_4_votes_stay_required VotesStayRequired,
    rule_5_inherited_reads_wait InheritedReadsWait,
    rule_5_inherited_commits_wait InheritedCommitsWait,
    rule_6_views_take_two_steps ViewsTakeTwoSteps,
    rule_6_proposals_name_their_base ProposalsNameTheirBase,
    rule_6_leaders_ask_afresh LeadersAskAfresh,
    rule_7_all_are_fenced AllAreFenced,
    rule_8_primaries_accept PrimariesAccept,
    rule_8_accepting_syncs AcceptingSyncs,
    rule_8_accepting_stops AcceptingStops,
    rule_9_restarts_cut_nothing RestartsCutNothing,
    rule_10_views_name_lives ViewsNameLives,
    rule_10_promotions_name_lives PromotionsNameLives,
    rule_11_views_are_remembered ViewsAreRemembered,
    rule_12_pending_goes_first PendingGoesFirst,
    rule_15_bases_end_catch_ups BasesEndCatchUps,
    rule_22_clocks_are_read ClocksAreRead,
    rule_36_memory_is_declared_lost MemoryIsDeclaredLost,
}

fn is_needed(rule: Rule) {
    let found = Replication::without(Scope::of_rule(rule), rule).search();
    let (claim, steps) = found
        .violation
        .unwrap_or_else(|| panic!("{} states, and nobody misses {rule}", found.states));
    assert!(
        !steps.is_empty(),
        "{claim} does not hold from the beginning"
    );
    println!(
        "without {rule}: {claim} does not hold, {} states",
        found.states
    );
    for step in steps {
        println!("    {step}");
    }
}
