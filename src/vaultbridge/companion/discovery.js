// Discovery: finding the bridge.

/** The folders where bridges store their endpoint files, chosen as vaultbridge itself does. There may be several,
 * because a sandboxed app has other environment variables. Desktop only. @param {NodeJS.ProcessEnv} env @param {string} platform @param {string} home */
function listBridgeFolders(env, platform, home) {
  if (!Platform.isDesktop) return [];
  const path = require('path');
  const folders = [env.VAULTBRIDGE_CACHE ?? ''];
  if (platform === 'win32') folders.push(path.join(env.LOCALAPPDATA || path.join(home, 'AppData', 'Local'), 'vaultbridge', 'Cache'));
  else if (platform === 'darwin') folders.push(path.join(home, 'Library', 'Caches', 'vaultbridge'));
  else {
    if (env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME)) folders.push(path.join(env.XDG_CACHE_HOME, 'vaultbridge'));
    folders.push(path.join(home, '.cache', 'vaultbridge'));
  }
  return [...new Set(folders.filter(Boolean))];
}

/** The bridges that serve this vault, found by the endpoint files in their cache folders and by their lock files for
 * Claude Code, whose folder is known even if the caches have been moved. Desktop only.
 * @param {string} vaultFolder @returns {Endpoint[]} */
function findLocalBridges(vaultFolder) {
  if (!Platform.isDesktop) return [];
  const [fs, os, path] = [require('fs'), require('os'), require('path')];
  const listNames = (/** @type {string} */ folder) => {
    try {
      return fs.readdirSync(folder).sort().slice(0, MAX_FILES_READ);
    } catch {
      return [];
    }
  };
  const readJson = (/** @type {string} */ file) => {
    try {
      return fs.statSync(file).size > MAX_FILE_BYTES ? null : JSON.parse(fs.readFileSync(file, 'utf8'));
    } catch {
      return null;
    }
  };
  const isThisVault = (/** @type {unknown} */ folder) => {
    if (typeof folder !== 'string' || !folder) return false;
    try {
      // Compared by identity, because one folder can have several paths: by case, accents and links.
      const [first, second] = [folder, vaultFolder].map((each) => fs.statSync(each, { bigint: true }));
      return first.dev === second.dev && first.ino === second.ino;
    } catch {
      return false;
    }
  };
  /** @type {Map<number, Endpoint>} */
  const found = new Map();
  const addIfUsable = (/** @type {any} */ content, /** @type {unknown} */ folder, /** @type {unknown} */ token) => {
    const { port, pid, host = '127.0.0.1', certificate = '', name = '' } = content;
    if (!isThisVault(folder) || !Number.isInteger(port) || port < 1 || port > 65535 || typeof token !== 'string') return;
    // The app checks the certificate against the name in the address.
    const address = String((certificate && name) || host);
    if (found.has(port) || !isAlive(pid) || !/^[\w.:-]+$/.test(address)) return;
    const hostPart = address.includes(':') ? `[${address}]` : address;
    found.set(port, { url: `${certificate ? 'wss' : 'ws'}://${hostPart}:${port}/editor`, token, vault: String(folder) });
  };
  const home = os.homedir();
  for (const base of listBridgeFolders(process.env, process.platform, home))
    for (const name of listNames(base))
      for (const file of ['bridge.json', 'guest.json']) {
        const content = readJson(path.join(base, name, file));
        if (content) addIfUsable(content, content.vault, content.token);
      }
  for (const folder of [path.join(home, '.claude'), process.env.CLAUDE_CONFIG_DIR ?? ''])
    for (const name of folder ? listNames(path.join(folder, 'ide')) : []) {
      const content = readJson(path.join(folder, 'ide', name));
      // Other editors have locks there too; only ours name their port.
      if (content?.port && Array.isArray(content.workspaceFolders))
        for (const workspace of content.workspaceFolders) addIfUsable(content, workspace, content.authToken);
    }
  return [...found.values()];
}

/** Whether the process that wrote a file is still running: another program that now has its port must not get the token.
 * @param {unknown} pid */
function isAlive(pid) {
  if (typeof pid !== 'number' || pid <= 0) return false;
  // Processes outside the sandbox are invisible.
  if (process.env.FLATPAK_ID) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {any} */ (error).code === 'EPERM';
  }
}

/** The URL of the editor protocol for an address that a person typed. @param {string} text */
function makeEditorUrl(text) {
  const address = text.trim();
  if (!address) throw new Error('The address of the bridge is missing in the settings.');
  const parseUrl = (/** @type {string} */ candidate) => {
    try {
      return new URL(candidate);
    } catch {
      throw new Error(`“${address}” is not an address. An address looks like https://computer:3000.`);
    }
  };
  const isLocal = (/** @type {URL} */ url) => ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  const hasScheme = /^\w+:\/\//.test(address);
  const url = parseUrl(hasScheme ? address : `https://${address}`);
  const isSecure = hasScheme ? /^(https|wss):$/.test(url.protocol) : !isLocal(url);
  if (!isSecure && !/^(https?|ws):$/.test(url.protocol))
    throw new Error('The address must begin with https:// or, on this device, http://.');
  if (!isSecure && !isLocal(url)) throw new Error('Use https:// for another machine: otherwise others could read the token.');
  return `${isSecure ? 'wss' : 'ws'}://${url.host}${url.pathname.replace(/\/$/, '')}/editor`;
}
