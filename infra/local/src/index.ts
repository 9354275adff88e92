export { getToken, runMainJob, type Delivery, type MainJobResult } from './main-job.ts';
export { platformFile, type Platform } from './platform-file.ts';
export { withThrowawayStack, type ThrowawayStack } from './throwaway-stack.ts';
