import preset from '@assistance/dev-config/jest-preset.js';

/** The tests of the whole platform, started as a person starts it. */
export default {
  ...preset,
  testMatch: ['<rootDir>/test/**/*.platform-test.ts'],
  testTimeout: 120_000,
};
