export { getToken, runMainJob, type Delivery, type MainJobResult } from './platform/main-job.ts';
export { platformFile, type Platform } from './platform/platform-file.ts';
export { withThrowawayStack, type ThrowawayStack } from './test-run/throwaway-stack.ts';
