// Discovery: finding the bridge.

/** The folders where bridges save their endpoints, as vaultbridge itself chooses them; more than one, because a
 * sandboxed app sees other variables. Desktop only. @param {NodeJS.ProcessEnv} env @param {string} platform @param {string} home */
function bridgeFolders(env, platform, home) {
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

/** The bridges that serve this vault, by the endpoint files in their cache folders and by the lock files for Claude
 * Code, whose folder is known even when the caches have been moved. Desktop only.
 * @param {string} vaultFolder @returns {Endpoint[]} */
function bridgesOnThisMachine(vaultFolder) {
  if (!Platform.isDesktop) return [];
  const [fs, os, path] = [require('fs'), require('os'), require('path')];
  const names = (/** @type {string} */ folder) => {
    try {
      return fs.readdirSync(folder).sort().slice(0, FILES_LOOKED_AT);
    } catch {
      return [];
    }
  };
  const read = (/** @type {string} */ file) => {
    try {
      return fs.statSync(file).size > PRIVATE_FILE_BYTES ? null : JSON.parse(fs.readFileSync(file, 'utf8'));
    } catch {
      return null;
    }
  };
  const same = (/** @type {unknown} */ folder) => {
    if (typeof folder !== 'string' || !folder) return false;
    try {
      // By identity: case, accents and links can be spelled in more than one way.
      const [first, second] = [folder, vaultFolder].map((place) => fs.statSync(place, { bigint: true }));
      return first.dev === second.dev && first.ino === second.ino;
    } catch {
      return false;
    }
  };
  /** @type {Map<number, Endpoint>} */
  const found = new Map();
  const consider = (/** @type {any} */ content, /** @type {unknown} */ folder, /** @type {unknown} */ token) => {
    const { port, pid, host = '127.0.0.1', certificate = '', name = '' } = content;
    if (!same(folder) || !Number.isInteger(port) || port < 1 || port > 65535 || typeof token !== 'string') return;
    // The app itself checks a certificate against the name that people call the server.
    const address = String((certificate && name) || host);
    if (found.has(port) || !isAlive(pid) || !/^[\w.:-]+$/.test(address)) return;
    const dialled = address.includes(':') ? `[${address}]` : address;
    found.set(port, { url: `${certificate ? 'wss' : 'ws'}://${dialled}:${port}/editor`, token, vault: String(folder) });
  };
  const home = os.homedir();
  for (const base of bridgeFolders(process.env, process.platform, home))
    for (const name of names(base))
      for (const file of ['bridge.json', 'guest.json']) {
        const content = read(path.join(base, name, file));
        if (content) consider(content, content.vault, content.token);
      }
  for (const folder of [path.join(home, '.claude'), process.env.CLAUDE_CONFIG_DIR ?? ''])
    for (const name of folder ? names(path.join(folder, 'ide')) : []) {
      const content = read(path.join(folder, 'ide', name));
      // Other editors have locks there too; only ours name their port.
      if (content?.port && Array.isArray(content.workspaceFolders))
        for (const workspace of content.workspaceFolders) consider(content, workspace, content.authToken);
    }
  return [...found.values()];
}

/** Whether the process that wrote a file still runs; another program that has its port now must not get the token.
 * @param {unknown} pid */
function isAlive(pid) {
  if (typeof pid !== 'number' || pid <= 0) return false;
  // Processes outside this sandbox cannot be seen.
  if (process.env.FLATPAK_ID) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {any} */ (error).code === 'EPERM';
  }
}

/** The URL of the editor protocol at an address that a person typed. @param {string} text */
function editorUrl(text) {
  const address = text.trim();
  if (!address) throw new Error('The address of the bridge is missing in the settings.');
  const read = (/** @type {string} */ written) => {
    try {
      return new URL(written);
    } catch {
      throw new Error(`“${address}” is not an address. An address looks like https://computer:3000.`);
    }
  };
  const local = (/** @type {URL} */ url) => ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  const named = /^\w+:\/\//.test(address);
  const url = read(named ? address : `https://${address}`);
  const secure = named ? /^(https|wss):$/.test(url.protocol) : !local(url);
  if (!secure && !/^(https?|ws):$/.test(url.protocol))
    throw new Error('The address must begin with https:// or, on this device, http://.');
  if (!secure && !local(url)) throw new Error('Use https:// for another machine: otherwise others could read the token.');
  return `${secure ? 'wss' : 'ws'}://${url.host}${url.pathname.replace(/\/$/, '')}/editor`;
}
