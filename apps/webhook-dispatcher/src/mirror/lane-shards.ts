/** Lanes hash onto this many shards, by subscription. The number is fixed: lease rows exist for each. */
export const LANE_SHARDS = 64;
