# A formula for a tap. `make packages` writes it into dist/ with the hash of the source distribution, and a
# release has it; in the tap, `brew update-python-resources vaultbridge` adds the resources from PyPI.
class Vaultbridge < Formula
  include Language::Python::Virtualenv

  desc "Connects an Obsidian vault to AI assistants"
  homepage "https://github.com/vaultbridge/vaultbridge"
  url "https://github.com/vaultbridge/vaultbridge/releases/download/v0.1.0/vaultbridge-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on "rust" => :build # watchfiles
  depends_on "libyaml"
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"vaultbridge", "completion")
    man1.install "man/vaultbridge.1"
  end

  service do
    run [opt_bin/"vaultbridge", "serve"]
    keep_alive true
  end

  test do
    (testpath/"vault/Note.md").write "hello from a note\n"
    assert_match "hello", shell_output("#{bin}/vaultbridge read -v vault Note")
  end
end
