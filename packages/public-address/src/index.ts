export { judgeAddress, type AddressPolicy } from './judge-address.ts';
export { parseNetwork, type Network } from './parse-network.ts';
